"""A tool for jp that saves a backup of a file."""

import json
import os
import shutil
import sys

call = json.load(sys.stdin)["tool"]
path = call["arguments"]["path"]
overwrite = call["answers"].get("overwrite")

if os.path.exists(path + ".bak") and overwrite is None:
    question = {
        "id": "overwrite",
        "text": "There is a backup already. Replace it?",
        "answer_type": {"type": "boolean"},
        "default": False,
        "persistence": "none",
    }
    print(json.dumps({"type": "needs_input", "question": question}))
elif overwrite is False:
    print("The old backup was kept.")
else:
    shutil.copyfile(path, path + ".bak")
    print(f"Saved {path}.bak")
