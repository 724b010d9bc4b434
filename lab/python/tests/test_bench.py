"""The bench goes through under pyperf and appends the lines that the report reads."""

import json
from pathlib import Path

import pytest

from lab import bench, line
from lab.interval import interval
from lab.memory import held_bytes
from lab.task import Task, seconds
from lab.team import Team


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.setattr(line, "RESULTS", tmp_path / "results.jsonl")
    monkeypatch.setenv("LAB_RUN", "a run")
    monkeypatch.setenv("LAB_COMMIT", "a commit")
    return tmp_path / "results.jsonl"


def test_quick_appends_a_line_a_task(results):
    assert bench.bench(True, "^json/orjson pingpong base varied (encode|field)", [0]) == 0
    encode, field = [json.loads(text) for text in results.read_text().splitlines()]
    assert (encode["operation"], field["operation"]) == ("encode", "field")
    assert (encode["run"], encode["commit"], encode["quick"], encode["threads"]) == ("a run", "a commit", True, 1)
    assert (encode["format"], encode["library"], encode["variant"], encode["case"]) == ("json", "orjson", "",
        "pingpong")
    assert 0 < encode["ns_low"] <= encode["ns"] <= encode["ns_high"]
    assert encode["alloc_bytes"] > 100


def test_what_does_not_come_back_is_not_timed(results, monkeypatch, capfd):
    # The worker's own first message is read back before it is timed; a codec that loses a field is found.
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent / "broken"))
    assert bench.bench(True, "^json/orjson pingpong base varied (encode|field)", [0]) == 2
    assert results.read_text() == ""
    assert "does not give back what it was given" in capfd.readouterr().err


def test_full_covers_what_is_asked_for():
    tasks = [task for job in bench.jobs(False, "^json/orjson ", 4, 0) for task in job.tasks]
    assert len(tasks) == len(set(tasks))
    names = {task.case for task in tasks}
    for name in names:
        for operation in ("encode", "decode", "field", "fields"):
            assert Task(name, "base", "varied", operation) in tasks
        for operation in ("encode", "decode"):
            assert Task(name, "base", "one", operation) in tasks
    for size in ("100", "1k", "10k", "100k", "1m"):
        for name in ("pingpong", "zeek"):
            for operation in ("encode", "decode", "field"):
                assert Task(name, size, "varied", operation) in tasks
    assert Task("zeek", "base", "varied", "decode", 4) in tasks


def test_all_cores_are_processes_of_one_task(results):
    assert bench.bench(False, "^json/orjson zeek base varied encode 2", [0, 1]) == 0
    (only,) = [json.loads(text) for text in results.read_text().splitlines()]
    assert only["threads"] == 2 and only["ns"] > 0 and only["alloc_bytes"] is None


def test_messages_go_round():
    seen = []
    seconds(seen.append, [1, 2, 3], 7)
    assert seen == [1, 2, 3, 1, 2, 3, 1]


def test_a_team_takes_the_slowest_divided_by_its_members():
    team = Team(1, lambda loops: float(loops))
    assert team.seconds(12) == 12 / team.size


@pytest.mark.parametrize("count, low, high",
    [(2, 0, 1), (5, 0, 4), (6, 0, 5), (8, 0, 7), (9, 1, 7), (12, 2, 9), (20, 5, 14)])
def test_interval_has_the_median_in_95_of_100_cases(count, low, high):
    # The ranks are those of the tables for the sign test's interval.
    values = [float(rank) for rank in range(count)]
    assert interval([*values[::2], *values[1::2]]) == ((count - 1) / 2, low, high)


def test_held_bytes_sees_what_an_operation_makes():
    assert 1000 <= held_bytes(lambda size: bytes(size), [1000]) <= 1200
    assert 3000 <= held_bytes(lambda size: len(bytes(size)) + len(bytes(2 * size)), [1500]) <= 3200
