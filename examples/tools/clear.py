"""A tool for jp that empties a file, and asks again if it has changed since you were asked."""

import hashlib
import json
import os
import sys

call = json.load(sys.stdin)["tool"]
path = call["arguments"]["path"]
with open(path, "rb") as file:
    binding = hashlib.sha256(file.read()).hexdigest()

answer = call["answers"].get("clear")
if answer is False:
    print(f"{path} was kept.")
elif answer is None or call.get("bindings", {}).get("clear") != binding:
    question = {
        "id": "clear",
        "text": f"Empty {path}?",
        "context": f"{os.path.getsize(path)} bytes.",
        "answer_type": {"type": "boolean"},
        "exclusive": True,
        "persistence": "none",
        "binding": binding,
    }
    print(json.dumps({"type": "needs_input", "question": question}))
else:
    open(path, "w").close()
    print(f"{path} is empty.")
