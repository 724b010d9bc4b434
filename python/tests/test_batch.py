"""The golden bytes of vectors/batch, read and written; batches as sequences."""

import copy
import json
import pickle
import random

import pytest
from conftest import VECTORS

import rawline
from rawline import Batch, BatchError, Batches, Limits, build_batch, parse_batch, parse_batches
from rawline.batch import Codec

CASES = json.loads((VECTORS / "batch/batches.json").read_text())["cases"]
FORMAT = (1 << 32) - 1


def limits_of(case: dict) -> Limits:
    given = case.get("limits", {})
    names = ("batch_bytes_max", "records_max", "raw_bytes_max")
    return Limits(**{name: int(given.get(name, FORMAT)) for name in names})


def fields_of(batch: Batch) -> dict:
    return {
        "batch_bytes": batch.batch_bytes,
        "codec": batch.codec,
        "crc32c": batch.crc32c,
        "created_us": str(batch.created_us),
        "data_bytes": batch.data_bytes,
        "producer_id": str(batch.producer_id),
        "raw_bytes": batch.raw_bytes,
        "records": [record.hex() for record in batch],
        "sequence": str(batch.sequence),
        "slice": batch.is_slice,
    }


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_golden_bytes_are_read(case: dict) -> None:
    data = bytes.fromhex(case["hex"])
    if case.get("one"):
        with pytest.raises(BatchError) as caught:
            parse_batch(data, limits_of(case))
        assert caught.value.code == case["error"]
        return
    read, code = [], None
    try:
        for batch in parse_batches(data, limits_of(case)):
            read.append(fields_of(batch))
    except BatchError as error:
        code = error.code
        assert error.kind in ("fix_request", "try_again") and str(error)  # noqa: PT017 - only some cases fail
    assert read == case["batches"]
    assert code == case.get("error")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_golden_bytes_are_written(case: dict) -> None:
    data, position = bytes.fromhex(case["hex"]), 0
    for fields in case["batches"]:
        end = position + fields["batch_bytes"]
        if fields["codec"] == "none":
            built = build_batch(
                [bytes.fromhex(record) for record in fields["records"]],
                created_us=int(fields["created_us"]),
                producer_id=int(fields["producer_id"]),
                sequence=int(fields["sequence"]),
                is_slice=fields["slice"],
            )
            assert built == data[position:end]
        position = end


@pytest.mark.parametrize("codec", ["none", "lz4", "zstd"])
def test_a_batch_is_a_sequence_of_its_records(codec: str) -> None:
    records = [bytes([65 + index % 26]) * (index % 40) for index in range(1000)]
    batch = parse_batch(build_batch(records, codec))
    assert batch.codec == codec
    assert len(batch) == 1000 and list(batch) == records and batch.to_list() == records
    assert batch[7] == records[7] and batch[-1] == records[-1]
    assert batch[7].readonly and batch[7].format == "B" and batch[7].obj is batch[8].obj
    assert list(batch[10:20]) == records[10:20] and list(batch[10:20][3:5]) == records[13:15]
    assert batch[10:20].first_offset == 10 and batch[10:20].next_offset == 20
    assert batch[10:20].data == b"".join(records[10:20]) and len(batch[20:10]) == 0
    assert memoryview(batch[10:20].sizes).cast("I").tolist() == [len(record) for record in records[10:20]]
    with pytest.raises(IndexError, match="no record 1000: there are 1000"):
        batch[1000]
    with pytest.raises(ValueError, match="steps of 1"):
        batch[::2]
    with pytest.raises(TypeError, match="read-only"):
        batch[1][0] = 1


def test_batches_are_a_sequence_of_their_records() -> None:
    records = [b"record %d" % number for number in range(100)]
    batch, *_ = parse_batches(build_batch(records), first_offset=1000)
    batches = Batches([batch[:40], batch[5:5], batch[40:]])
    assert len(batches) == 100 and list(batches) == records and batches.to_list() == records
    assert [batches[place] for place in (0, 39, 40, -1, -100)] == [records[place] for place in (0, 39, 40, -1, 0)]
    assert [message.offset for message in batches.messages()] == list(range(1000, 1100))
    assert (batches.first_offset, batches.next_offset) == (1000, 1100)
    for part in (slice(0, 5), slice(39, 41), slice(30, 90), slice(-5, None), slice(40, 40), slice(90, 10), slice(None)):
        assert batches[part].to_list() == records[part] and len(batches[part]) == len(records[part])
    assert [(part.first_offset, len(part)) for part in batches[39:41].batches] == [(1039, 1), (1040, 1)]
    for outside in (100, -101, 1 << 70):
        with pytest.raises(IndexError, match=f"no record {outside}: there are 100"):
            batches[outside]
    with pytest.raises(ValueError, match="steps of 1"):
        batches[::2]
    assert len(Batches()) == 0 and list(Batches()) == [] and Batches()[:5].to_list() == []
    with pytest.raises(IndexError, match="no record 0: there are 0"):
        Batches()[0]
    assert repr(batches) == "<rawline.Batches: 100 records in 3 batches>"
    assert repr(batches[:1]) == "<rawline.Batches: 1 record in 1 batch>"


def test_records_outlive_their_batch() -> None:
    record = parse_batch(build_batch([b"x" * 5000, b"y"]))[0]
    assert bytes(record) == b"x" * 5000
    record = parse_batch(build_batch([b"x" * 5000, b"y"], "zstd"))[0]
    assert bytes(record) == b"x" * 5000


def test_records_of_any_bytes_like_object_are_taken() -> None:
    given = [b"a", bytearray(b"bc"), memoryview(b"xdefx")[1:4], "ü"]
    assert list(parse_batch(build_batch(given))) == [b"a", b"bc", b"def", "ü".encode()]
    with pytest.raises(TypeError, match="int holds no bytes in one piece; give bytes, bytearray, memoryview or str"):
        build_batch([1])
    with pytest.raises(BatchError) as caught:
        build_batch([])
    assert caught.value.code == "batch_empty"


def test_damaged_batches_are_refused_and_never_crash() -> None:
    random.seed(1)
    good = build_batch([b"record %d" % index for index in range(20)], "lz4")
    for _ in range(2000):
        bad = bytearray(good)
        for _ in range(random.randrange(1, 4)):
            bad[random.randrange(len(bad))] = random.randrange(256)
        if bad != good:
            with pytest.raises(rawline.RawlineError):
                parse_batch(bytes(bad[: random.randrange(len(bad) + 1)]))


@pytest.mark.parametrize("codec", ["none", "lz4", "zstd"])
def test_batches_are_pickled(codec: Codec) -> None:
    records = [b"record %d" % number for number in range(100)]
    batch, *_ = parse_batches(build_batch(records, codec), first_offset=1000)
    for given in (batch, batch[20:30], batch[5:5]):
        restored = pickle.loads(pickle.dumps(given))
        assert fields_of(restored) == fields_of(given)
        assert (restored.first_offset, restored.next_offset) == (given.first_offset, given.next_offset)
        assert copy.deepcopy(given).to_list() == given.to_list()
    batches = Batches([batch[:40], batch[40:]])
    restored_batches = pickle.loads(pickle.dumps(batches))
    assert restored_batches.to_list() == records and restored_batches.next_offset == 1100
