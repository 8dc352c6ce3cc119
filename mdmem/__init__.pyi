"""The names of the library, for type checkers: `__init__.py` loads each when it is first used."""

from mdmem import errors as errors
from mdmem.library import AsyncMemory as AsyncMemory
from mdmem.library import Memory as Memory
from mdmem.library import open as open  # noqa: A004 - as one says it: mdmem.open
from mdmem.model import Source as Source
from mdmem.model import Status as Status
from mdmem.model.errors import MdmemError as MdmemError
from mdmem.model.history import FactHistory as FactHistory
from mdmem.model.history import SectionHistory as SectionHistory
from mdmem.model.history import ShowHistory as ShowHistory
from mdmem.model.prompts import BuildContext as BuildContext
from mdmem.model.prompts import ContextBlock as ContextBlock
from mdmem.model.reads import SectionView as SectionView
from mdmem.model.reads import Show as Show
from mdmem.model.searches import FactList as FactList
from mdmem.model.searches import Hit as Hit
from mdmem.model.searches import ListFacts as ListFacts
from mdmem.model.searches import Search as Search
from mdmem.model.searches import SearchResult as SearchResult
from mdmem.model.writes import EditSection as EditSection
from mdmem.model.writes import Forget as Forget
from mdmem.model.writes import Log as Log
from mdmem.model.writes import Remember as Remember
from mdmem.model.writes import Revert as Revert
from mdmem.model.writes import WriteOptions as WriteOptions
from mdmem.model.writes import WriteResult as WriteResult

__version__: str
__all__: list[str]
