! SPDX-License-Identifier: Apache-2.0
! Calls of a Fortran program, without a module: constants are those of MPICH's ABI.
program known
  implicit none
  integer, parameter :: world = int(z'44000000'), bytes = int(z'4c00010d'), any = -2
  integer :: rank, failed, i
  integer :: status(8)
  character :: data(1000)
  call MPI_Init(failed)
  call MPI_Comm_rank(world, rank, failed)
  do i = 1, 100
    if (rank == 0) call MPI_Send(data, 1000, bytes, 1, 0, world, failed)
    if (rank == 1) call MPI_Recv(data, 1000, bytes, any, 0, world, status, failed)
  end do
  call MPI_Barrier(world, failed)
  call MPI_Finalize(failed)
end program
