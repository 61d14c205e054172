import json, sys

def ask(request):                      # prints a line, and reads the answer
    print(json.dumps(request), flush=True)
    answer = json.loads(sys.stdin.readline())
    if "error" in answer:
        sys.exit(answer["error"]["message"])
    if "waiting" in answer:
        sys.exit()                     # it runs again when there is an answer
    return answer

def charge_back(order, key):           # a bank does nothing twice under one key
    return {"order": order["id"], "receipt": key}

task = json.loads(sys.stdin.readline())
receipt = ask({"step": "charge back"}).get("value")
if receipt is None:                    # no execution before has recorded it
    receipt = charge_back(task["input"], task["key"])
    ask({"record": {"step": "charge back", "value": receipt}})
question = {"name": "tell the customer", "show": receipt, "expires": 48 * 3600 * 10**9}
told = ask({"ask": question})["answer"]["verdict"] == "approve"
parcel = ask({"wait": {"signal": "parcel returned"}})["value"]
ask({"action": "complete", "output": {"told": told, "parcel": parcel, **receipt}})
