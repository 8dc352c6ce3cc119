"""Results: `values.to_json` for programs, `…_text` for people, `…_notes` for standard error."""
