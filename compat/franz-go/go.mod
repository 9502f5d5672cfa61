// Pins the client whose test suite ../franz_go.py runs. There is no code of ours here.
module korvet/compat/franz-go

go 1.26.0

require github.com/twmb/franz-go v1.22.2
