"""How an application reads every field of Avro's generated records."""

from lab.case import Case, Field
from getters import Style, read_check
from java import Source, records, switch, title


class Records(Style):
    reader = "rawline.lab.{}"

    def has(self, r: str, field: Field) -> str:
        return f"{r}.get{title(field.name)}() != null"

    def check_loop(self, r: str, field: Field) -> list[str]:
        return [f"check += Check.of({r}.get{title(field.name)}());"]


class OwnPackage(Records):
    """The measurement's schema has another namespace."""

    reader = "rawline.{}"


def generate(cases: list[Case]) -> dict[str, str]:
    source = Source(
        "io.rawline.lab.format", "avro", "io.rawline.lab.Case", "io.rawline.lab.message.Check",
        "java.util.function.ToLongFunction",
        "org.apache.avro.generic.IndexedRecord",
    )  # fmt: skip
    source.add("final class AvroCases {", "private AvroCases() {}")
    styles = {case.name: OwnPackage() if case.name == "measurement" else Records() for case in cases}
    switch(
        source, "static ToLongFunction<IndexedRecord> readOf(Case kase)",
        {c.name: f"r -> check{c.record.name}(({styles[c.name].reader.format(c.record.name)}) r)" for c in cases},
    )  # fmt: skip
    for case in cases:
        for record in records(case.record):
            read_check(source, styles[case.name], record)
    source.add("}")
    return {"io.rawline.lab.format.AvroCases": source.text()}
