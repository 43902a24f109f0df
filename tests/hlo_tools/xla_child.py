"""Runs in a process of its own, because XLA's parser can abort: reads HLO texts, writes their HloModuleProto.

Input and output are records of an 8-byte length and that many bytes. An answer begins with `+` (a serialized
HloModuleProto follows) or `-` (the parser's message follows).
"""

import struct
import sys

from jaxlib import _hlo


def main() -> None:
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    while header := source.read(8):
        text = source.read(struct.unpack("<Q", header)[0]).decode()
        try:
            answer = b"+" + _hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto()
        except Exception as error:
            answer = b"-" + str(error).encode()
        sink.write(struct.pack("<Q", len(answer)) + answer)
        sink.flush()


main()
