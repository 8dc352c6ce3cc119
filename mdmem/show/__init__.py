"""Results: `…_json` for programs, `…_text` for people, `…_notes` for standard error."""
