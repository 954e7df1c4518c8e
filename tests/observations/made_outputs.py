# SPDX-License-Identifier: Apache-2.0
"""One whole output of each tool, of one figure: 1.1. All are written by hand."""

ROW = "8     1.10"
OSU = f"# OSU MPI Latency Test v7.4\n# Size       Avg Latency(us)\n{ROW}\n"
IMB = """\
#    Intel(R) MPI Benchmarks 2021.11, MPI-1 part
# Benchmarking PingPong
# #processes = 2
       #bytes #repetitions      t[usec]   Mbytes/sec
            8         1000         1.10         7.27

# All processes entering MPI_Finalize
"""
NCCL = """\
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 2 minBytes 8 maxBytes 8 step: 2(factor)
#  Rank  0 Group  0 Pid  1 on  one device  0 [0x1a] GPU
#  Rank  1 Group  0 Pid  1 on  one device  1 [0x1b] GPU
#   size   count   type   redop   root   time   algbw   busbw #wrong   time   algbw   busbw #wrong
       8       2  float     sum     -1   1.10    0.01    0.01      0   9.90    0.01    0.01      0
# Out of bounds values : 0 OK
"""
PERFTEST = """\
                    RDMA_Write BW Test
 Number of qps   : 1\t\tTransport type : IB
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 8          5000             9.10               8.80            0.367927
"""
NVBANDWIDTH = """\
nvbandwidth Version: v0.8
Device 0: GPU A (00000000:18:00)
Running host_to_device_memcpy_ce.
memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)
           0
 0      1.10

SUM host_to_device_memcpy_ce 1.10
"""
UCX = """\
| API:          protocol layer                                            |
| Test:         tag match latency                                         |
| Send memory:  host                                                      |
| Recv memory:  host                                                      |
| Message size: 8                                                         |
| Window size:  1                                                         |
|    Stage     | # iterations | 50.0%ile | average | overall |  average |  overall |
Final:         100000      1.100     3.386     3.386     2.25     2.25     295355     295355
"""
BY_TOOL = {
    "osu": OSU,
    "imb": IMB,
    "nccl-tests": NCCL,
    "perftest": PERFTEST,
    "nvbandwidth": NVBANDWIDTH,
    "ucx_perftest": UCX,
}
