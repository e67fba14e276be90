# include
