"""Fields of an HloInstructionProto spelt as HLO text prints them, so that both kinds of input read alike.

Field numbers: xla/service/hlo.proto, xla/xla_data.proto. Attributes that no ledger reads (gather and scatter numbers,
original values, ...) are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import pack, unpack_from
from typing import TYPE_CHECKING

from . import proto_windows, wire
from .proto_sharding import sharding_text

if TYPE_CHECKING:
    from .proto import InstructionProto, ModuleProto

_API_VERSIONS = ("UNSPECIFIED", "ORIGINAL", "STATUS_RETURNING", "STATUS_RETURNING_UNIFIED", "TYPED_FFI")
# A long literal is elided as XLA elides it.
_MAX_LITERAL = 4096

# Repeated integers of LiteralProto (xla_data.proto): preds, s32s, s64s, u32s, u64s.
_INTEGER_LITERALS = frozenset((2, 4, 5, 6, 7))
_F32_LITERAL = 8


def braces(values: list[int] | list[str]) -> str:
    return "{" + ",".join(str(value) for value in values) + "}"


def quoted(text: str) -> str:
    """A string with its C escapes."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def attributes_of(module: ModuleProto, made: InstructionProto) -> dict[str, str]:
    """The attributes of one instruction, computations by name."""
    data = module.data
    found = _called(module, made)
    if made.opcode == "get-tuple-element":
        found["index"] = str(made.tuple_index)
    lists: dict[int, list[int]] = {}
    slices: list[str] = []
    pairs: list[str] = []
    groups: list[str] = []
    for entry in wire.fields(data, *made.extent):
        number = entry[0]
        if number in _LISTS:
            lists.setdefault(number, []).extend(wire.integers(data, entry))
        elif number == 17:
            slices.append(_slice(data, *wire.span(entry)))
        elif number == 52:
            ends = _numbers(data, *wire.span(entry))
            pairs.append(braces([ends.get(1, 0), ends.get(2, 0)]))
        elif number == 49:
            groups.append(braces(_all_integers(data, 1, *wire.span(entry))))
        elif number in _PRINTERS:
            for key, value in _PRINTERS[number](data, entry).items():
                found.setdefault(key, value)
    for number, key in _LISTS.items():
        if number in lists or (number == 14 and made.opcode in _DIMENSIONED):
            found[key] = braces(lists.get(number, []))
    if made.opcode == "iota" and "dimensions" in found:
        found["iota_dimension"] = found.pop("dimensions").strip("{}")
    if slices:
        found["slice"] = "{" + ", ".join(slices) + "}"
    if pairs or made.opcode.startswith("collective-permute"):
        found["source_target_pairs"] = braces(pairs)
    if groups:
        found.setdefault("replica_groups", braces(groups))
    if made.opcode in _GROUPED:
        found.setdefault("replica_groups", "{}")
    metadata = _metadata(made)
    if metadata:
        found["metadata"] = metadata
    return found


def literal_text(data: bytes, made: InstructionProto) -> str:
    """What stands between the parentheses: a parameter's number, integers, booleans or f32 of a constant, `{...}`."""
    if made.opcode == "parameter":
        return str(made.parameter_number)
    values: list[str] = []
    is_pred = is_array = False
    for entry in wire.fields(data, *made.extent):
        if entry[0] != 8:
            continue
        for part in wire.fields(data, *wire.span(entry)):
            if part[0] == 1:
                is_array = bool(_all_integers(data, 3, *wire.span(part)))
                is_pred = _numbers(data, *wire.span(part)).get(2) == 1
            elif part[0] in _INTEGER_LITERALS:
                values += map(str, wire.integers(data, part))
            elif part[0] == _F32_LITERAL:
                start, end = wire.span(part)
                values += (_float_text(*unpack_from("<f", data, at)) for at in range(start, end - 3, 4))
    if not values or len(values) > _MAX_LITERAL:
        return "{...}"
    words = ["false" if value == "0" else "true" for value in values] if is_pred else values
    return "{" + ", ".join(words) + "}" if is_array else words[0]


def _float_text(value: float) -> str:
    """Six digits where they read back as the same f32, else nine: as XLA prints floats."""
    text = f"{value:.6g}"
    return text if pack("<f", float(text)) == pack("<f", value) else f"{value:.9g}"


def buffer_donor(data: bytes, start: int, end: int) -> str:
    """HloBufferDonorProto as the module header prints it; empty where there is none."""
    rows = []
    for entry in wire.fields(data, start, end):
        if entry[0] == 1:
            bounds = wire.span(entry)
            rows.append(f"({_numbers(data, *bounds).get(1, 0)}, {braces(_all_integers(data, 2, *bounds))})")
    return "{ " + ", ".join(rows) + " }" if rows else ""


def input_output_alias(data: bytes, start: int, end: int) -> str:
    """HloInputOutputAliasProto as the module header prints it; empty where there is none."""
    rows = []
    for entry in wire.fields(data, start, end):
        if entry[0] != 1:
            continue
        bounds = wire.span(entry)
        numbers = _numbers(data, *bounds)
        kind = "must-alias" if numbers.get(4) == 2 else "may-alias"
        output, parameter = _all_integers(data, 1, *bounds), _all_integers(data, 3, *bounds)
        rows.append(f"{braces(output)}: ({numbers.get(2, 0)}, {braces(parameter)}, {kind})")
    return "{ " + ", ".join(rows) + " }" if rows else ""


def _called(module: ModuleProto, made: InstructionProto) -> dict[str, str]:
    names = ["%" + found.name for i in made.called_ids if (found := module.computation_by_id.get(i)) is not None]
    if not names:
        return {}
    opcode = made.opcode
    if opcode == "while" and len(names) == 2:
        return {"condition": names[1], "body": names[0]}
    if opcode == "conditional":
        return {"branch_computations": "{" + ", ".join(names) + "}"}
    if opcode == "custom-call":
        return {"called_computations": "{" + ", ".join(names) + "}"}
    if opcode == "select-and-scatter" and len(names) == 2:
        return {"select": names[0], "scatter": names[1]}
    if opcode == "fusion" or opcode.startswith("async-"):
        return {"calls": names[0]}
    return {"to_apply": names[0]}


def _metadata(made: InstructionProto) -> str:
    path, line = made.source
    parts = [f"op_name={quoted(made.op_name)}"] if made.op_name else []
    parts += [f"source_file={quoted(path)}"] if path else []
    parts += [f"source_line={line}"] if line else []
    parts += [f"stack_frame_id={made.stack_frame_id}"] if made.stack_frame_id else []
    return "{" + " ".join(parts) + "}" if parts else ""


def _numbers(data: bytes, start: int, end: int) -> dict[int, int]:
    """The numeric fields of a flat message."""
    return {f[0]: f[2] for f in wire.fields(data, start, end) if f[1] == wire.VARINT}


def _all_integers(data: bytes, number: int, start: int, end: int) -> list[int]:
    return [value for f in wire.fields(data, start, end) if f[0] == number for value in wire.integers(data, f)]


def _slice(data: bytes, start: int, end: int) -> str:
    numbers = _numbers(data, start, end)
    stride = numbers.get(3, 1)
    text = f"[{numbers.get(1, 0)}:{numbers.get(2, 0)}"
    return f"{text}]" if stride == 1 else f"{text}:{stride}]"


def _dot(data: bytes, field: wire.Field) -> dict[str, str]:
    keys = ((3, "lhs_batch_dims"), (1, "lhs_contracting_dims"), (4, "rhs_batch_dims"), (2, "rhs_contracting_dims"))
    rows = {key: _all_integers(data, number, *wire.span(field)) for number, key in keys}
    return {key: braces(values) for key, values in rows.items() if values}


def _channel(data: bytes, field: wire.Field) -> dict[str, str]:
    number = wire.signed(wire.number(field))
    return {"channel_id": str(number)} if number > 0 else {}


def _frontend_attributes(data: bytes, field: wire.Field) -> dict[str, str]:
    rows = []
    for entry in wire.fields(data, *wire.span(field)):
        pair = {part[0]: wire.text(data, part) for part in wire.fields(data, *wire.span(entry)) if part[1] == wire.SPAN}
        value = pair.get(2, "")
        rows.append(f"{pair.get(1, '')}={value if value.startswith('{') else quoted(value)}")
    return {"frontend_attributes": braces(sorted(rows))} if rows else {}


def _backend_config(data: bytes, field: wire.Field) -> dict[str, str]:
    value = wire.text(data, field)
    if not value:
        return {}
    return {"backend_config": value if value.startswith("{") else quoted(value)}


def _device_list(data: bytes, field: wire.Field) -> dict[str, str]:
    """CollectiveDeviceListProto: a list of groups or an iota list."""
    rows: list[str] = []
    for entry in wire.fields(data, *wire.span(field)):
        if entry[0] == 1:
            rows.append(braces(_all_integers(data, 1, *wire.span(entry))))
        elif entry[0] == 2:
            return _iota_list(data, entry)
    return {"replica_groups": braces(rows)}


def _iota_list(data: bytes, field: wire.Field) -> dict[str, str]:
    bounds = wire.span(field)
    numbers = _numbers(data, *bounds)
    dims, order = _all_integers(data, 3, *bounds), _all_integers(data, 4, *bounds)
    count, size = numbers.get(1, 0), numbers.get(2, 0)
    return {"replica_groups": f"[{count},{size}]<=[{','.join(map(str, dims))}]{_transposed(order)}"}


def _transposed(order: list[int]) -> str:
    return f"T({','.join(map(str, order))})" if order and order != list(range(len(order))) else ""


def _mesh_groups(data: bytes, field: wire.Field) -> dict[str, str]:
    """MeshAxesReplicaGroupListProto: `mesh['a'=2,'b'=4], device_ids=([4,2]T(1,0)) {'a','b':(2)2}`."""
    axes: list[tuple[str, int]] = []
    ids: list[int] = []
    iota = ""
    spans: list[tuple[int, str]] = []
    for entry in wire.fields(data, *wire.span(field)):
        if entry[0] == 1:
            for part in wire.fields(data, *wire.span(entry)):
                if part[0] == 1:
                    axes.append(_mesh_axis(data, *wire.span(part)))
                elif part[0] == 2:
                    ids += wire.integers(data, part)
                elif part[0] == 3:
                    dims, order = _all_integers(data, 1, *wire.span(part)), _all_integers(data, 2, *wire.span(part))
                    iota = f"[{','.join(map(str, dims))}]{_transposed(order)}" if dims else ""
        elif entry[0] == 2:
            spans.append(_axis_reference(data, *wire.span(entry)))
    mesh = ",".join(f"'{name}'={size}" for name, size in axes)
    devices = f", device_ids=({iota or ','.join(map(str, ids))})" if iota or ids else ""
    names = [f"'{axes[index][0]}'{sub}" for index, sub in spans if 0 <= index < len(axes)]
    return {"replica_groups": f"mesh[{mesh}]{devices} {braces(names)}"}


def _mesh_axis(data: bytes, start: int, end: int) -> tuple[str, int]:
    name, size = "", 0
    for entry in wire.fields(data, start, end):
        if entry[0] == 1:
            name = wire.text(data, entry)
        elif entry[0] == 2:
            size = wire.number(entry)
    return name, size


def _axis_reference(data: bytes, start: int, end: int) -> tuple[int, str]:
    index, sub = 0, ""
    for entry in wire.fields(data, start, end):
        if entry[0] == 1:
            index = wire.number(entry)
        elif entry[0] == 2:
            sizes = _numbers(data, *wire.span(entry))
            sub = f":({sizes.get(1, 1)}){sizes.get(2, 1)}"
    return index, sub


def _flag(key: str) -> Callable[[bytes, wire.Field], dict[str, str]]:
    return lambda data, field: {key: "true"} if wire.number(field) else {}


def _word(key: str) -> Callable[[bytes, wire.Field], dict[str, str]]:
    return lambda data, field: {key: text} if (text := wire.text(data, field)) else {}


def _string(key: str) -> Callable[[bytes, wire.Field], dict[str, str]]:
    return lambda data, field: {key: quoted(text)} if (text := wire.text(data, field)) else {}


def _api_version(data: bytes, field: wire.Field) -> dict[str, str]:
    number = wire.number(field)
    known = number < len(_API_VERSIONS)
    return {"api_version": f"API_VERSION_{_API_VERSIONS[number] if known else number}"} if number > 1 else {}


_LISTS = {14: "dimensions", 20: "dynamic_slice_sizes", 32: "fft_length", 34: "slice_sizes"}
_DIMENSIONED = frozenset(("broadcast", "reduce", "transpose", "concatenate", "reverse"))
_GROUPED = frozenset(
    (
        *("all-gather", "all-gather-start", "all-reduce", "all-reduce-start", "reduce-scatter", "all-to-all"),
        *("ragged-all-to-all", "collective-broadcast"),
    )
)


def _sharding(data: bytes, entry: wire.Field) -> dict[str, str]:
    text = sharding_text(data, *wire.span(entry))
    return {"sharding": text} if text else {}


_PRINTERS: dict[int, Callable[[bytes, wire.Field], dict[str, str]]] = {
    11: _word("kind"),
    15: proto_windows.window,
    16: proto_windows.dim_labels,
    26: _channel,
    28: _string("custom_call_target"),
    30: _dot,
    40: _sharding,
    43: _backend_config,
    47: _flag("is_host_transfer"),
    50: proto_windows.count("feature_group_count"),
    58: proto_windows.count("batch_group_count"),
    63: _word("direction"),
    65: _flag("custom_call_has_side_effect"),
    68: _frontend_attributes,
    71: _flag("use_global_device_ids"),
    77: _api_version,
    79: _string("async_execution_thread"),
    87: _device_list,
    90: proto_windows.ragged,
    92: _iota_list,
    93: _mesh_groups,
}
