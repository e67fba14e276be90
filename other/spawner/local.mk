# other/spawner
