# extended-ref
