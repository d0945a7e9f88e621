module sluice/lua

go 1.26.0
