# ibv-conduit
