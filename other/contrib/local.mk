# other/contrib
