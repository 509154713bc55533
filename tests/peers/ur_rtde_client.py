"""Reads a UR controller with PyPI's `ur_rtde`, which is not ours, and prints all it was told as one JSON document.

Usage: ur_rtde_client.py ADDRESS. The receive interface asks for its own list of output fields; it has no port to choose.
"""

import json
import sys
import time

import rtde_receive

# Every getter without an argument.
GETTERS = [
    "getTimestamp", "getTargetQ", "getTargetQd", "getTargetQdd", "getTargetCurrent", "getTargetMoment",
    "getActualQ", "getActualQd", "getActualCurrent", "getJointControlOutput", "getActualTCPPose",
    "getActualTCPSpeed", "getActualTCPForce", "getTargetTCPPose", "getTargetTCPSpeed",
    "getActualDigitalInputBits", "getJointTemperatures", "getActualExecutionTime", "getRobotMode",
    "getRobotStatus", "getJointMode", "getSafetyMode", "getSafetyStatusBits", "getActualToolAccelerometer",
    "getSpeedScaling", "getTargetSpeedFraction", "getActualMomentum", "getActualMainVoltage",
    "getActualRobotVoltage", "getActualRobotCurrent", "getActualJointVoltage", "getActualDigitalOutputBits",
    "getRuntimeState", "getStandardAnalogInput0", "getStandardAnalogInput1", "getStandardAnalogOutput0",
    "getStandardAnalogOutput1", "getPayload", "getPayloadCog", "getPayloadInertia", "getFtRawWrench",
    "isProtectiveStopped", "isEmergencyStopped", "isConnected",
]

client = rtde_receive.RTDEReceiveInterface(sys.argv[1], 125.0)
first = client.getTimestamp()
deadline = time.monotonic() + 10
while client.getTimestamp() == first and time.monotonic() < deadline:
    time.sleep(0.01)
told = {name: getattr(client, name)() for name in GETTERS}
told["goes_on"] = client.getTimestamp() != first
told["output_int_register_12"] = client.getOutputIntRegister(12)
told["output_double_register_12"] = client.getOutputDoubleRegister(12)
client.disconnect()
print(json.dumps(told))
