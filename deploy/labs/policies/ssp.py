"""ssp:S: no worker gets a batch that brings it more than S ahead of the slowest. ssp.py S"""
import json, sys

bound = int(sys.argv[1])
for line in sys.stdin:
    asked = json.loads(line)
    if "gradient" in asked:
        do = "apply"
    else:
        clocks = asked["clocks"]
        slowest = min(clock for clock in clocks if clock is not None)
        do = "give" if clocks[asked["asks"]] + asked["held"] - slowest <= bound else "wait"
    print(json.dumps({"do": do}), flush=True)
