// Teams: the threads of a block that work on one row together. A block has several, as far as rows are short.
//
// A team has a power of two of lanes. Along a row, whose elements follow each other, the lanes of a team are threads that
// follow each other. Across rows, whose neighbours' elements follow each other, so are the first lanes of all teams, then
// the second ones: threads side by side always read side by side.
//
// A monoid has Accumulators, none() and combine(first, later), which is associative. What lanes have is combined in their
// order. All threads of a block take part in every function here, since they wait for each other.

constexpr int THREADS = 256;
constexpr int WARP_SIZE = 32;
constexpr unsigned ALL_LANES = 0xffffffffu;

// Values of any size move between the lanes of a warp in words.
template <typename T, typename Shuffle>
__device__ inline T shuffled(const T& value, const Shuffle& shuffle) {
    constexpr int count = (sizeof(T) + 3) / 4;
    unsigned words[count] = {};
    memcpy(words, &value, sizeof(T));
#pragma unroll
    for (int at = 0; at < count; ++at) {
        words[at] = shuffle(words[at]);
    }
    T result;
    memcpy(&result, words, sizeof(T));
    return result;
}

template <typename T>
__device__ inline T shuffle_down(const T& value, int delta) {
    return shuffled(value, [=](unsigned word) { return __shfl_down_sync(ALL_LANES, word, delta); });
}

template <typename T>
__device__ inline T shuffle_up(const T& value, int delta) {
    return shuffled(value, [=](unsigned word) { return __shfl_up_sync(ALL_LANES, word, delta); });
}

// lanes: of a team, 2 to the power of log. teams: of a block. lane, team: of this thread.
template <bool along>
struct Team {
    int log, lanes, teams, lane, team;

    __device__ explicit Team(int log) : log(log), lanes(1 << log), teams(THREADS >> log) {
        const int thread = threadIdx.x;
        lane = along ? thread & (lanes - 1) : thread / teams;
        team = along ? thread >> log : thread & (teams - 1);
    }

    // The row of this thread, where each team of the grid takes one.
    __device__ long long row() const { return static_cast<long long>(blockIdx.x) * teams + team; }
};

// What the first of so many neighbouring lanes of a warp get: the values of all of them, in their order.
template <typename Monoid>
__device__ inline typename Monoid::Accumulators combined_neighbours(typename Monoid::Accumulators value, int lanes) {
    for (int delta = 1; delta < lanes; delta *= 2) {
        value = Monoid::combine(value, shuffle_down(value, delta));
    }
    return value;
}

// What all lanes of a team have, in its first lane, and along rows also in the first one of each warp; others get
// something else.
template <typename Monoid, bool along>
__device__ inline typename Monoid::Accumulators combined(
    const Team<along>& team, typename Monoid::Accumulators value) {
    using Accumulators = typename Monoid::Accumulators;
    if constexpr (along) {
        value = combined_neighbours<Monoid>(value, team.lanes < WARP_SIZE ? team.lanes : WARP_SIZE);
        if (team.lanes > WARP_SIZE) {
            __shared__ Accumulators parts[THREADS / WARP_SIZE];
            const int warps = team.lanes / WARP_SIZE, lane = threadIdx.x % WARP_SIZE;
            __syncthreads(); // what an earlier call has left here has been read
            if (lane == 0) {
                parts[threadIdx.x / WARP_SIZE] = value;
            }
            __syncthreads();
            value = combined_neighbours<Monoid>(parts[team.team * warps + (lane & (warps - 1))], warps);
        }
    } else {
        __shared__ Accumulators slots[THREADS];
        __syncthreads();
        slots[threadIdx.x] = value;
        for (int delta = 1; delta < team.lanes; delta *= 2) {
            __syncthreads();
            if (team.lane % (2 * delta) == 0) {
                value = Monoid::combine(value, slots[threadIdx.x + delta * team.teams]);
                slots[threadIdx.x] = value;
            }
        }
    }
    return value;
}

// What the lanes before one have, and what all lanes of its team have.
template <typename Accumulators>
struct Scanned {
    Accumulators before, all;
};

template <typename Monoid, bool along>
__device__ inline Scanned<typename Monoid::Accumulators> scanned(
    const Team<along>& team, typename Monoid::Accumulators value) {
    using Accumulators = typename Monoid::Accumulators;
    __shared__ Accumulators slots[THREADS];
    if constexpr (along) {
        const int width = team.lanes < WARP_SIZE ? team.lanes : WARP_SIZE, lane = team.lane & (width - 1);
        for (int delta = 1; delta < width; delta *= 2) {
            const Accumulators other = shuffle_up(value, delta);
            if (lane >= delta) {
                value = Monoid::combine(other, value);
            }
        }
        const Accumulators neighbour = shuffle_up(value, 1);
        Accumulators before = lane == 0 ? Monoid::none() : neighbour;
        const int warp = threadIdx.x / width;
        __syncthreads(); // what an earlier call has left here has been read
        if (lane == width - 1) {
            slots[warp] = value;
        }
        __syncthreads();
        const int first = team.team * (team.lanes / width);
        Accumulators all = slots[first];
        for (int at = first + 1; at < first + team.lanes / width; ++at) {
            if (at == warp) {
                before = Monoid::combine(all, before);
            }
            all = Monoid::combine(all, slots[at]);
        }
        return {before, all};
    } else {
        for (int delta = 1; delta < team.lanes; delta *= 2) {
            __syncthreads();
            slots[threadIdx.x] = value;
            __syncthreads();
            if (team.lane >= delta) {
                value = Monoid::combine(slots[threadIdx.x - delta * team.teams], value);
            }
        }
        __syncthreads();
        slots[threadIdx.x] = value;
        __syncthreads();
        const Accumulators before = team.lane == 0 ? Monoid::none() : slots[threadIdx.x - team.teams];
        return {before, slots[(team.lanes - 1) * team.teams + team.team]};
    }
}

// What ``combined`` has left in first lanes, in all lanes of the team.
template <bool along, typename T>
__device__ inline T from_first_lane(const Team<along>& team, const T& value) {
    if constexpr (along) {
        const int width = team.lanes < WARP_SIZE ? team.lanes : WARP_SIZE, lane = threadIdx.x % WARP_SIZE & ~(width - 1);
        return shuffled(value, [=](unsigned word) { return __shfl_sync(ALL_LANES, word, lane); });
    } else {
        __shared__ T first[THREADS];
        __syncthreads();
        if (team.lane == 0) {
            first[team.team] = value;
        }
        __syncthreads();
        return first[team.team];
    }
}
