// Places that are led inside: where margins lead that repeat what is there, and places that count from the end.

__device__ inline long long replicate(long long place, long long size) {
    return place < 0 ? 0 : place < size ? place : size - 1;
}

// Mirrored at the first and at the last element, as often as it takes.
__device__ inline long long reflect(long long place, long long size) {
    const long long period = size > 1 ? 2 * (size - 1) : 1;
    const long long found = (place < 0 ? -place : place) % period;
    return found < size ? found : period - found;
}

__device__ inline long long circular(long long place, long long size) {
    const long long found = place % size;
    return found < 0 ? found + size : found;
}

__device__ inline long long wrap(long long place, long long size) { return place < 0 ? place + size : place; }
