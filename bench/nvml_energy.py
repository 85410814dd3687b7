# SPDX-License-Identifier: Apache-2.0
"""Joules that a GPU has spent, read from the driver's library of management; None where there is no such library."""
import ctypes


class GpuEnergy:
    def __init__(self, uuid=None):
        """`uuid`: of the GPU as CUDA tells it, without "GPU-"; None: the first."""
        self.device = None
        try:
            self.library = ctypes.CDLL("libnvidia-ml.so.1")
        except OSError:
            return
        device = ctypes.c_void_p()
        if self.library.nvmlInit_v2() != 0:
            return
        found = -1
        if uuid is not None:
            found = self.library.nvmlDeviceGetHandleByUUID(f"GPU-{uuid}".encode(), ctypes.byref(device))
        if found != 0:
            found = self.library.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device))
        if found == 0:
            self.device = device

    def joules(self):
        """Since the driver was loaded; the driver adds to it several times a second."""
        millijoules = ctypes.c_ulonglong()
        if self.device is None:
            return None
        if self.library.nvmlDeviceGetTotalEnergyConsumption(self.device, ctypes.byref(millijoules)) != 0:
            return None
        return millijoules.value / 1000

    def since(self, before):
        now = self.joules()
        return None if before is None or now is None else now - before
