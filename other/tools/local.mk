# other/tools
