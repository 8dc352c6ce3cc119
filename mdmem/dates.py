"""What `datetime` has, from the part of the interpreter that does the work: the library's module defines it all a second time first (1 ms)."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import UTC, date, datetime, time, timedelta, tzinfo
else:
    try:
        from _datetime import date, datetime, time, timedelta, timezone, tzinfo

        UTC = timezone.utc
    except ImportError:  # another interpreter
        from datetime import UTC, date, datetime, time, timedelta, tzinfo

__all__ = ["UTC", "date", "datetime", "time", "timedelta", "tzinfo"]
