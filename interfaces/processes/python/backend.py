"""Builds the wheel: the Python files, and the library that cargo makes of ../c.

A build backend (PEP 517) without dependencies. PHALANX_CARGO_PROFILE is cargo's profile (release).
"""

import base64
import hashlib
import os
import pathlib
import platform
import subprocess
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
NAME, VERSION = "phalanx_processes", "0.1.0"
TAG = f"py3-none-linux_{platform.machine()}"
LIBRARY = "libphalanx_processes_c.so"
METADATA = f"""Metadata-Version: 2.1
Name: phalanx-processes
Version: {VERSION}
Summary: Collectives between processes of one machine, in shared memory
License: MIT OR Apache-2.0
Requires-Python: >=3.9
"""
WHEEL = f"Wheel-Version: 1.0\nGenerator: phalanx\nRoot-Is-Purelib: false\nTag: {TAG}\n"


def library():
    """Where cargo has put the library."""
    workspace = HERE.parent.parent.parent
    profile = os.environ.get("PHALANX_CARGO_PROFILE", "release")
    command = ["cargo", "build", "--profile", profile, "-p", "phalanx-processes-c"]
    subprocess.run(command, cwd=workspace, check=True)
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", workspace / "target"))
    folder = "debug" if profile == "dev" else profile
    return workspace / target / folder / LIBRARY


def get_requires_for_build_wheel(config_settings=None):
    return []


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    about = f"{NAME}-{VERSION}.dist-info"
    files = {
        f"{NAME}/{path.name}": path.read_bytes() for path in sorted((HERE / NAME).glob("*.py"))
    }
    files[f"{NAME}/{LIBRARY}"] = library().read_bytes()
    files[f"{about}/METADATA"] = METADATA.encode()
    files[f"{about}/WHEEL"] = WHEEL.encode()
    record = ""
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(data)}\n"
    files[f"{about}/RECORD"] = (record + f"{about}/RECORD,,\n").encode()
    wheel = f"{NAME}-{VERSION}-{TAG}.whl"
    with zipfile.ZipFile(pathlib.Path(wheel_directory) / wheel, "w", zipfile.ZIP_DEFLATED) as to:
        for name, data in files.items():
            to.writestr(name, data)
    return wheel


def build_sdist(sdist_directory, config_settings=None):
    raise RuntimeError("install it from a checkout: the library is made of the Rust sources there")
