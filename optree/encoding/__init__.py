"""Encoding: tables of numbers and categories become coded features, and new rows are coded in the same way."""

from optree.encoding.encoder import Encoder, EncodingSpec

__all__ = ["Encoder", "EncodingSpec"]
