module github.com/posthouse/posthouse

go 1.26.0
