"""The Java client: a program on the module path compiles and runs with the jars alone, and the jars are complete."""

import os
import shutil
import zipfile
from pathlib import Path

import pytest
from conftest import EMPTY, ROOT, Steps, append_and_read, broker, package, run

MODULE = "module program { requires io.rawline.client; }\n"
PROGRAM = """
package program;

import io.rawline.Client;
import io.rawline.consumer.ConsumerConfig;

public class Program {
    public static void main(String[] args) {
        try (Client client = new Client(args[0])) {
            long end = client.topic("packages").nextOffset();
            try (var consumer = client.consumer("packages", new ConsumerConfig().endOffset(end))) {
                consumer.forEach(record -> System.out.println(record.text()));
            }
        }
    }
}
"""


@pytest.fixture
def java() -> dict[str, str]:
    """The environment with Java's programs."""
    javac = shutil.which("javac")
    if not javac:
        pytest.skip("javac is missing: install Java 17 or newer")
    return EMPTY | {"PATH": f"{os.path.dirname(os.path.realpath(javac))}:{EMPTY['PATH']}"}


def aircompressor() -> Path:
    """The one library that the client needs, from Maven's folder, where building the client has put it."""
    (found,) = (Path.home() / ".m2/repository/io/airlift/aircompressor/2.0.3").glob("*.jar")
    return found


def test_java(java: dict[str, str], tmp_path: Path, step: Steps) -> None:
    jar = package("rawline-client-[0-9].[0-9].[0-9].jar")
    (tmp_path / "module-info.java").write_text(MODULE, encoding="utf-8")
    (tmp_path / "Program.java").write_text(PROGRAM, encoding="utf-8")
    modules = f"{jar}:{aircompressor()}"
    with step("compile"):
        sources = [tmp_path / "module-info.java", tmp_path / "Program.java"]
        run(["javac", "-d", tmp_path / "classes", "--module-path", modules, *sources], java)
    binary = ROOT / "target/packages/linux-x86_64/usr/bin/rawline"
    with broker(step, [binary, "serve", "--listen", "127.0.0.1:0", "--storage", "memory:"]) as url:
        append_and_read(step, [binary], url)
        line = ["java", "--module-path", f"{modules}:{tmp_path / 'classes'}", "--module", "program/program.Program"]
        with step("read"):
            assert run([*line, url], java) == '{"from": "a package"}\n'


def test_sources_and_documentation_are_complete() -> None:
    with zipfile.ZipFile(package("rawline-client-*-sources.jar")) as jar:
        assert "io/rawline/Client.java" in jar.namelist()
    with zipfile.ZipFile(package("rawline-client-*-javadoc.jar")) as jar:
        page = jar.read("io.rawline.client/io/rawline/Client.html").decode()
        assert "All rights reserved" not in page and "Apache License 2.0" in page
    assert "<version>0" in package("rawline-client-*.pom").read_text(encoding="utf-8")
