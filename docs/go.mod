module sluice/docs

go 1.26.0
