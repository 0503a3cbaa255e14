"""JSON Schema as far as the documents of the device use it: the first problem of a value, or None."""

import re

TYPES = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "integer": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool) and value == int(value),
}


class Schemas:
    def __init__(self, document):
        self.document = document

    def problem(self, schema, value, where="answer"):
        """`where` is the place in the value that the problem names."""
        if schema is True or schema == {}:
            return None
        if schema is False:
            return f"{where} must not be there"
        if "$ref" in schema:
            return self.problem(self._find(schema["$ref"]), value, where)
        for check in (self._value, self._number, self._text, self._object, self._array, self._choice):
            found = check(schema, value, where)
            if found:
                return found
        return None

    def _find(self, ref):
        found = self.document
        for name in ref.lstrip("#/").split("/"):
            found = found[name.replace("~1", "/").replace("~0", "~")]
        return found

    def _value(self, schema, value, where):
        types = schema.get("type", [])
        types = types if isinstance(types, list) else [types]
        if types and not any(TYPES[one](value) for one in types):
            return f"{where} must be {' or '.join(types)}, not {value!r:.80}"
        if "const" in schema and value != schema["const"]:
            return f"{where} must be {schema['const']!r}, not {value!r:.80}"
        if "enum" in schema and value not in schema["enum"]:
            return f"{where} must be one of {schema['enum']!r:.200}, not {value!r:.80}"
        return None

    def _number(self, schema, value, where):
        if not TYPES["number"](value):
            return None
        if value < schema.get("minimum", value) or value > schema.get("maximum", value):
            return f"{where} is {value}, out of its range"
        return None

    def _text(self, schema, value, where):
        if not isinstance(value, str):
            return None
        if not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value)):
            return f"{where} has a wrong length"
        if "pattern" in schema and not re.search(_pattern(schema["pattern"]), value):
            return f"{where} is {value!r:.80}, which does not match {schema['pattern']}"
        return None

    def _object(self, schema, value, where):
        if not isinstance(value, dict):
            return None
        missing = [name for name in schema.get("required", []) if name not in value]
        if missing:
            return f"{where} has no {missing[0]}"
        properties, more = schema.get("properties", {}), schema.get("additionalProperties", True)
        patterns = schema.get("patternProperties", {})
        for name, member in value.items():
            kinds = [properties[name]] if name in properties else []
            kinds += [one for pattern, one in patterns.items() if re.search(_pattern(pattern), name)]
            for kind in kinds or [more]:
                found = self.problem(kind, member, f"{where}.{name}")
                if found:
                    return found
        return None

    def _array(self, schema, value, where):
        items = schema.get("items")
        if not isinstance(value, list) or not isinstance(items, dict):
            return None
        found = (self.problem(items, item, f"{where}[{index}]") for index, item in enumerate(value))
        return next((one for one in found if one), None)

    def _choice(self, schema, value, where):
        for part in schema.get("allOf", []):
            found = self.problem(part, value, where)
            if found:
                return found
        for word in ("anyOf", "oneOf"):
            parts = schema.get(word)
            if parts and all(self.problem(part, value, where) for part in parts):
                return f"{where} fits no form that is documented: {self.problem(parts[0], value, where)}"
        return None


def _pattern(text):
    # JavaScript has \p{...} and Python has not: such a pattern is not checked.
    return "" if "\\p{" in text else text
