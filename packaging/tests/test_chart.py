"""The chart for Helm: its defaults render deploy/kubernetes.yaml; all values render what Kubernetes' schemas allow."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import ROOT

CHART = ROOT / "deploy/chart"
HELM = ROOT / ".tools/bin/helm"
# That of `make check-deploy`.
KUBERNETES = "1.34"
# Labels by which Helm finds its objects.
HELMS = {"app.kubernetes.io/instance", "app.kubernetes.io/version", "app.kubernetes.io/managed-by", "helm.sh/chart"}


def helm(*arguments: str) -> str:
    """What Helm prints."""
    done = subprocess.run([HELM, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def rendered(*arguments: str) -> str:
    """The chart's objects, checked by the schemas."""
    text = helm("template", "rawline", str(CHART), f"--kube-version={KUBERNETES}", *arguments)
    check = [
        ROOT / ".tools/python/bin/kubernetes-validate",
        "--quiet",
        "--strict",
        "--kubernetes-version",
        KUBERNETES,
        "-",
    ]
    done = subprocess.run(check, input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return text


def objects(text: str) -> dict[tuple[str, str], Any]:
    """Objects by kind and name, without Helm's labels and without what is the default anyway."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(value) for key, value in value.items() if key not in HELMS | {"imagePullPolicy"}}
        return [plain(item) for item in value] if isinstance(value, list) else value

    documents = (plain(document) for document in yaml.safe_load_all(text) if document)
    return {(document["kind"], document["metadata"]["name"]): document for document in documents}


def test_the_defaults_render_the_manifest() -> None:
    manifest = objects((ROOT / "deploy/kubernetes.yaml").read_text(encoding="utf-8"))
    chart = objects(rendered())
    assert chart.keys() == manifest.keys()
    for name, of_manifest in manifest.items():
        assert chart[name] == of_manifest, name


def test_all_values_can_be_set(tmp_path: Path) -> None:
    values = {
        "image": {"repository": "registry.example/rawline", "tag": "1", "pullPolicy": "Always"},
        "imagePullSecrets": [{"name": "registry"}],
        "brokers": 5,
        "storage": "gs://bucket",
        "arguments": ["--journals", "3"],
        "kafka": {"enabled": False},
        "cache": {"bytes": "1GiB", "volume": "2Gi", "storageClassName": "fast"},
        "secrets": {"bucket": ""},
        "serviceAccount": {"annotations": {"role": "writer"}},
        "podAnnotations": {"a": "b"},
        "nodeSelector": {"disk": "fast"},
        "tolerations": [{"key": "a", "operator": "Exists"}],
        "affinity": {"podAntiAffinity": {}},
    }
    file = tmp_path / "values.yaml"
    file.write_text(json.dumps(values), encoding="utf-8")
    text = rendered(f"--values={file}")
    pods = objects(text)["StatefulSet", "rawline"]["spec"]
    (broker,) = pods["template"]["spec"]["containers"]
    assert broker["args"][-2:] == ["--journals", "3"] and "--kafka" not in broker["args"]
    assert "envFrom" not in broker and pods["replicas"] == 5
    assert broker["image"] == "registry.example/rawline:1"
    assert "kafka" not in text


def test_two_releases_in_a_namespace_are_apart() -> None:
    other = helm("template", "other", str(CHART), f"--kube-version={KUBERNETES}")
    assert not objects(other).keys() & objects(rendered()).keys()
    services = [found for found in yaml.safe_load_all(other) if found["kind"] == "Service"]
    assert [service["spec"]["selector"]["app.kubernetes.io/instance"] for service in services] == ["other"] * 2


def test_the_chart_has_no_complaints() -> None:
    helm("lint", "--strict", str(CHART))


@pytest.mark.parametrize("wrong", ["brokers=0", "storage=/var/lib/rawline", "secretz.keys=a", "memory=lots"])
def test_a_wrong_value_is_refused(wrong: str) -> None:
    done = subprocess.run([HELM, "template", CHART, "--set", wrong], capture_output=True, text=True)
    assert done.returncode != 0 and wrong.split(".")[0].split("=")[0] in done.stderr, done.stderr
