"""What is handed out: a wheel and an sdist that install and work far from the repository."""

import re
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import pytest

pytest.importorskip("hatchling")
pytest.importorskip("hatch_fancy_pypi_readme")

ROOT = Path(__file__).parent.parent
NEEDED = {"py.typed", "planner/choice.json", "present/report.css", "data/flights_arr_delay.csv"}


def build(source: Path, target: Path, *kinds: str) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(target), *kinds]
    subprocess.run(command, cwd=source, check=True, capture_output=True)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("dist")
    build(ROOT, target)
    return target


def wheel(folder: Path) -> Path:
    (found,) = folder.glob("*.whl")
    return found


def metadata(folder: Path) -> Message:
    with zipfile.ZipFile(wheel(folder)) as opened:
        (name,) = (name for name in opened.namelist() if name.endswith("/METADATA"))
        return message_from_bytes(opened.read(name))


def files(folder: Path) -> set[str]:
    with zipfile.ZipFile(wheel(folder)) as opened:
        return {name.removeprefix("dpquantiles/") for name in opened.namelist()}


def test_the_wheel_has_what_the_package_reads(built: Path) -> None:
    assert files(built) >= NEEDED
    assert not any(name.startswith(("tests", "docs", "experiments")) for name in files(built))


def test_the_sdist_builds_the_same_wheel(built: Path, tmp_path: Path) -> None:
    (packed,) = built.glob("*.tar.gz")
    with tarfile.open(packed) as opened:
        opened.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    assert (source / "mkdocs.yml").is_file()
    assert (source / "docs" / "index.md").is_file()
    build(source, tmp_path / "again", "-t", "wheel")
    assert files(tmp_path / "again") == files(built)


def test_the_metadata_serve_strangers(built: Path) -> None:
    stated = metadata(built)
    labels = {url.split(",")[0] for url in stated.get_all("Project-URL", [])}
    assert labels == {"Source", "Documentation", "Changelog", "Issues"}
    versions = {c for c in stated.get_all("Classifier", []) if re.search(r":: 3\.\d+$", c)}
    assert f"Programming Language :: Python :: 3.{sys.version_info.minor}" in versions
    readme = str(stated.get_payload())
    targets = re.findall(r"\]\(([^)\s]+)\)", readme) + re.findall(r'src="([^"]+)"', readme)
    assert len(targets) > 20
    assert [target for target in targets if not target.startswith(("https://", "#"))] == []


def test_an_installed_wheel_works_elsewhere(built: Path, tmp_path: Path) -> None:
    """The libraries that it needs are those of this environment; the package itself is not."""
    target = tmp_path / "installed"
    quiet = ("--quiet", "--disable-pip-version-check", "--no-deps", "--no-index")
    install = [sys.executable, "-m", "pip", "install", *quiet, "--target", str(target)]
    subprocess.run([*install, str(wheel(built))], check=True)
    assert list(target.glob("bin/dpquantiles*")) or list(target.glob("Scripts/dpquantiles*"))
    code = (
        f"import sys; sys.path.insert(0, {str(target)!r})\n"
        "import dpquantiles as dpq\n"
        "from dpquantiles.data import flight_delays\n"
        "from dpquantiles.present import report\n"
        f"assert dpq.__file__.startswith({str(target)!r})\n"
        "assert '<style>' in report.page(dpq.deciles(flight_delays()[::50], epsilon=1.0))\n"
    )
    subprocess.run([sys.executable, "-I", "-c", code], cwd=tmp_path, check=True)
