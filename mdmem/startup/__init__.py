"""How a short-lived process starts and ends quickly: records made without generated code, modules loaded late, a way out."""
