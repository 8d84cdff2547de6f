"""JSON Schema fragments with which endpoints and tools describe their responses."""

from typing import Any

Schema = dict[str, Any]

NUMBER: Schema = {"type": "number"}
NUMBER_OR_NULL: Schema = {"type": ["number", "null"]}
TEXT: Schema = {"type": "string"}
TEXT_OR_NULL: Schema = {"type": ["string", "null"]}
INTEGER: Schema = {"type": "integer"}
INTEGER_OR_NULL: Schema = {"type": ["integer", "null"]}
BOOLEAN: Schema = {"type": "boolean"}
BOOLEAN_OR_NULL: Schema = {"type": ["boolean", "null"]}


def array_of(items: Schema, description: str = "") -> Schema:
    """The schema of an array."""
    return {"type": "array", "items": items, **({"description": description} if description else {})}


def object_of(properties: Schema, optional: tuple[str, ...] = (), nullable: bool = False) -> Schema:
    """The schema of an object that has all of these properties, except for the optional ones."""
    required = [name for name in properties if name not in optional]
    return {"type": ["object", "null"] if nullable else "object", "required": required, "properties": properties}
