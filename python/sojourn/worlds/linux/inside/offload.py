"""Switches off what makes one large packet of many: queues would see packets of 64 KiB."""

import array
import fcntl
import socket
import struct

# linux/sockios.h and linux/ethtool.h.
_SIOCETHTOOL = 0x8946
_SET_TSO, _SET_GSO, _SET_GRO = 0x1F, 0x24, 0x2C
_IFREQ = struct.Struct("16sQ16x")
_VALUE = struct.Struct("=II")


def switch_off(device: str) -> None:
    """Switch off TSO, GSO and GRO of a device of the namespace that this process is in."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        for command in (_SET_TSO, _SET_GSO, _SET_GRO):
            value = array.array("B", _VALUE.pack(command, 0))
            address, _ = value.buffer_info()
            fcntl.ioctl(control, _SIOCETHTOOL, _IFREQ.pack(device.encode(), address))
