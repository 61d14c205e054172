import json, sys

def ask(request):                      # prints a line, and reads the answer
    print(json.dumps(request), flush=True)
    answer = json.loads(sys.stdin.readline())
    if "error" in answer:
        sys.exit(answer["error"]["message"])

task = json.loads(sys.stdin.readline())
done = task.get("checkpoint", 0)       # what the last attempt saved
for row in range(done, task["input"]["rows"]):
    print("row", row, file=sys.stderr) # goes to the worker's log
    ask({"save": row + 1})             # durable from here on
    ask({"stream": f"row {row + 1}"})
ask({"action": "complete", "output": {"rows": task["input"]["rows"], "skipped": done}})
