! unit.f90 - a unit of Fortran that is not closed.
subroutine write_unit(name, length) bind(c)
    use, intrinsic :: iso_c_binding
    integer(c_int) :: length
    character(kind=c_char) :: name(length)
    character(len=length) :: path
    integer :: i
    do i = 1, length
        path(i:i) = name(i)
    end do
    open(unit=20, file=path, status='replace')
    write(20, '(a)') 'the last line'
end subroutine
