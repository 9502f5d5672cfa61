"""The four codecs of record batches, with every decompression bounded.

A few hundred bytes can expand to gigabytes, and a length that a sender declares is only a
claim. So nothing here allocates more than the caller's limit, whatever the bytes say.
"""

import struct
import zlib
from collections.abc import Callable
from typing import Final

import cramjam

from korvet.kafka.errors import ErrorCode, KafkaError

CODEC_NAMES: Final = ("none", "gzip", "snappy", "lz4", "zstd")
CODECS: Final = {name: number for number, name in enumerate(CODEC_NAMES)}

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)

# Java's snappy library frames blocks behind this; its version and compatible version are 1.
_XERIAL_MAGIC: Final = b"\x82SNAPPY\x00"
_XERIAL_HEADER: Final = _XERIAL_MAGIC + struct.pack(">ii", 1, 1)
_XERIAL_BLOCK: Final = 32 * 1024
_BLOCK_LENGTH: Final = struct.Struct(">i")

_GZIP_WINDOW: Final = 16 + zlib.MAX_WBITS

# cramjam's words when the output does not fit; the kind of exception is always the same.
_OUTPUT_FULL: Final = "failed to write whole buffer"


def compress(codec: int, data: bytes) -> bytes:
    """Compress so that Java, librdkafka and every other client can read it."""
    if codec == GZIP:
        stream = zlib.compressobj(wbits=_GZIP_WINDOW)
        return stream.compress(data) + stream.flush()
    if codec == SNAPPY:
        return _compress_snappy(data)
    if codec == LZ4:
        # Java's reader knows only independent blocks (KIP-57).
        compressor = cramjam.lz4.Compressor(
            level=1, content_checksum=False, block_linked=False
        )
        compressor.compress(data)
        return bytes(compressor.finish())
    if codec == ZSTD:
        return bytes(cramjam.zstd.compress(data, level=3))
    raise ValueError(f"no codec has the number {codec}")


def decompress(
    codec: int, data: memoryview, limit: int, prefix: int, suffix: int
) -> bytearray:
    """Decompress at most `limit` bytes, between `prefix` and `suffix` bytes of zeros.

    The room around saves the caller a copy. Raises KafkaError: MESSAGE_TOO_LARGE if there
    is more than `limit`, CORRUPT_MESSAGE if the data is not what its codec writes.
    """
    try:
        if codec == GZIP:
            out = _decompress_gzip(data, limit, prefix)
        elif codec == SNAPPY:
            out = _decompress_snappy(data, limit, prefix)
        elif codec == LZ4:
            out = _decompress_into(cramjam.lz4.decompress_into, data, limit, prefix)
        elif codec == ZSTD:
            out = _decompress_into(cramjam.zstd.decompress_into, data, limit, prefix)
        else:
            raise ValueError(f"no codec has the number {codec}")
    except (cramjam.DecompressionError, zlib.error, struct.error) as error:
        raise KafkaError(
            ErrorCode.CORRUPT_MESSAGE, f"{CODEC_NAMES[codec]}: {error}"
        ) from error
    out += bytes(suffix)
    return out


def _too_large(limit: int) -> KafkaError:
    return KafkaError(
        ErrorCode.MESSAGE_TOO_LARGE, f"decompresses to more than {limit} bytes"
    )


def _decompress_gzip(data: memoryview, limit: int, prefix: int) -> bytearray:
    stream = zlib.decompressobj(wbits=_GZIP_WINDOW)
    out = bytearray(prefix)
    out += stream.decompress(data, limit + 1)
    if len(out) - prefix > limit:
        raise _too_large(limit)
    # One member, as all producers write it. zlib copies what follows a member, so that a
    # chain of empty ones would take quadratic time.
    if not stream.eof or stream.unused_data:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, "gzip: not one whole member")
    return out


def _compress_snappy(data: bytes) -> bytes:
    view = memoryview(data)
    parts = [_XERIAL_HEADER]
    for start in range(0, len(data), _XERIAL_BLOCK):
        block = bytes(cramjam.snappy.compress_raw(view[start : start + _XERIAL_BLOCK]))
        parts += (_BLOCK_LENGTH.pack(len(block)), block)
    return b"".join(parts)


def _decompress_snappy(data: memoryview, limit: int, prefix: int) -> bytearray:
    out = bytearray(prefix)
    # librdkafka and Go's clients send one raw block without any frame.
    if bytes(data[: len(_XERIAL_MAGIC)]) != _XERIAL_MAGIC:
        _append_snappy_block(out, data, limit + prefix)
        return out
    position = len(_XERIAL_HEADER)
    while position < len(data):
        (length,) = _BLOCK_LENGTH.unpack_from(data, position)
        position += _BLOCK_LENGTH.size
        if not 0 <= length <= len(data) - position:
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, "snappy: a block is cut")
        _append_snappy_block(out, data[position : position + length], limit + prefix)
        position += length
    return out


def _append_snappy_block(out: bytearray, block: memoryview, limit: int) -> None:
    # The block's own header says how long it gets, and the decoder holds it to that.
    length = cramjam.snappy.decompress_raw_len(block)
    if len(out) + length > limit:
        raise _too_large(limit)
    out += memoryview(cramjam.snappy.decompress_raw(block))


def _decompress_into(
    decompress_into: Callable[[memoryview, memoryview], int],
    data: memoryview,
    limit: int,
    prefix: int,
) -> bytearray:
    # Neither format must declare its size, so guess, and try again with more room.
    room = min(limit, max(4 * len(data), 16 * 1024))
    while True:
        out = bytearray(prefix + room)
        try:
            length = decompress_into(data, memoryview(out)[prefix:])
        except cramjam.DecompressionError as error:
            if str(error) != _OUTPUT_FULL:
                raise
            if room >= limit:
                raise _too_large(limit) from error
            room = min(limit, 8 * room)
        else:
            del out[prefix + length :]
            return out
