"""A tool for jp that orders a book, and can say later whether it did. A folder stands for the shop."""

import json
import os
import sys

call = json.load(sys.stdin)
context, title = call["context"], call["tool"]["arguments"]["title"]
order = os.path.join("orders", context["idempotency_key"])

if context["action"] == "check":
    found = os.path.exists(order)
    done = {"type": "done", "result": f"{title} is ordered."}
    print(json.dumps(done if found else {"type": "not_done"}))
else:
    os.makedirs("orders", exist_ok=True)
    with open(order, "w") as file:
        file.write(title)
    print(f"{title} is ordered.")
