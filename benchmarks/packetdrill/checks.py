"""Assertions of scripts: a little of Python, read and never executed."""

import ast
import operator
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

_COMPARE: dict[type, Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_COMPUTE: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


class UnknownError(LookupError):
    """A name that the engine does not tell, or an expression that is not of the subset."""


class Checks:
    """The assertions of one script; names that it assigns stay."""

    def __init__(self) -> None:
        self.unchecked = 0
        """Assertions on what the engine does not tell."""
        self._names: dict[str, Any] = {}

    def failing(self, code: str, state: Mapping[str, Any]) -> str | None:
        """Return the first assertion that does not hold, with what was found; None where all do."""
        for statement in ast.parse(_dedented(code)).body:
            names = {**state, **self._names}
            try:
                if isinstance(statement, ast.Assert) and not _value(statement.test, names):
                    known = sorted({node.id for node in ast.walk(statement.test) if isinstance(node, ast.Name)})
                    found = ", ".join(f"{name} is {names[name]}" for name in known if name in names)
                    return f"{ast.unparse(statement.test)}: {found}"
                if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                    self._names[statement.targets[0].id] = _value(statement.value, names)
                if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
                    before = _value(ast.Name(statement.target.id), names)
                    added = _value(statement.value, names)
                    self._names[statement.target.id] = _COMPUTE[type(statement.op)](before, added)
            except UnknownError:
                self.unchecked += 1
        return None


def _dedented(code: str) -> str:
    return "\n".join(line.strip() for line in code.strip().splitlines())


def _value(node: ast.expr, names: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.Name(id=name) if name in names:
            return names[name]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _COMPUTE:
            return _COMPUTE[type(op)](_value(left, names), _value(right, names))
        case ast.BoolOp(op=op, values=values):
            held = [bool(_value(value, names)) for value in values]
            return all(held) if isinstance(op, ast.And) else any(held)
        case ast.Compare(left=left, ops=ops, comparators=rights):
            values = [_value(each, names) for each in (left, *rights)]
            return all(_COMPARE[type(op)](*pair) for op, pair in zip(ops, pairwise(values), strict=True))
    raise UnknownError(ast.unparse(node))
