# other/softhca
