"""Builds by maturin, after it has looked whether all that needs is there, and says so in words.

(maturin itself would fetch a compiler, or end in a traceback.)
"""

import os
import shutil
import sysconfig

if shutil.which("cargo") is None:
    raise SystemExit(
        "phalanx-processes is made of Rust sources, and there is no cargo in PATH: install Rust "
        "1.89 or later (https://rustup.rs, or a package of the system), and try again")
try:
    from maturin import *  # noqa: F403
except ImportError:
    raise SystemExit(
        "there is no maturin, and pip may not fetch it (--no-build-isolation): `pip install "
        "maturin` first") from None

# maturin's program is beside Python's, whether or not the environment is activated.
os.environ["PATH"] += os.pathsep + sysconfig.get_path("scripts")
os.environ["MATURIN_NO_INSTALL_RUST"] = "1"
