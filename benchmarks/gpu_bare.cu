// What a sweep costs at the least, for two classes and five labels an item: for benchmarks/gpu.py, which compiles it.
typedef unsigned long long sum_t;
#define EACH_ITEM for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < m; i += (size_t)gridDim.x * blockDim.x)
#define EACH_LABEL _Pragma("unroll") for (int l = 0; l < 5; l++)

// Only read a worker's two odds for every label.
extern "C" __global__ void gather(const unsigned* code, size_t m, const float2* table, float* out) {
  float sum = 0;
  EACH_ITEM {
    EACH_LABEL { float2 v = table[code[l * m + i] >> 1]; sum += v.x * v.y; }
  }
  if (sum == 12345.f) out[0] = sum;
}

// Only add to a worker's sums for every label.
extern "C" __global__ void add(const unsigned* code, size_t m, sum_t* sums) {
  EACH_ITEM {
    EACH_LABEL atomicAdd(sums + (code[l * m + i] >> 1), 15ull);
  }
}

// Both, and no mathematics.
extern "C" __global__ void both(const unsigned* code, size_t m, const float2* table, sum_t* sums) {
  EACH_ITEM {
    float sum = 0;
    unsigned worker[5];
    EACH_LABEL { worker[l] = code[l * m + i] >> 1; float2 v = table[worker[l]]; sum += v.x * v.y; }
    EACH_LABEL atomicAdd(sums + worker[l], (sum_t)(long long)(sum * 1e6f));
  }
}

// The whole sweep of the minimax model as one would write it by hand for this one case: everything in registers, no step
// halving, no gold, no held weights. `state` holds the items' two log odds.
extern "C" __global__ void sweep(const unsigned* code, size_t m, const float2* table, sum_t* sums, float2* state, float beta,
                                 float scale, double* objective) {
  double total = 0;
  EACH_ITEM {
    unsigned who[5];
    float odds[5][2], u[2] = {state[i].x, state[i].y}, w[2], item[2], value;
    EACH_LABEL {
      who[l] = code[l * m + i];
      float2 v = table[who[l] >> 1];
      odds[l][0] = v.x;
      odds[l][1] = v.y;
    }
    for (int step = 0; step < 100; step++) {
      float log_p[2] = {0, 0}, residual[2] = {0, 0}, spread[2] = {0, 0};
      for (int c = 0; c < 2; c++) {
        item[c] = __expf(u[c]);
        EACH_LABEL {
          float e = odds[l][c] * item[c], p = __fdividef(e, 1 + e);
          bool yes = who[l] & 1;
          log_p[c] += __logf(yes ? p : 1 - p);
          residual[c] += (yes ? 1.f : 0.f) - p;
          spread[c] += p * (1 - p);
        }
      }
      float top = fmaxf(log_p[0], log_p[1]), a = __expf(log_p[0] - top), b = __expf(log_p[1] - top);
      w[0] = a / (a + b);
      w[1] = b / (a + b);
      value = top + __logf(a + b) - 0.25f * beta * (u[0] * u[0] + u[1] * u[1]);
      float slope = 0, move[2];
      for (int c = 0; c < 2; c++) {
        float g = w[c] * residual[c] - 0.5f * beta * u[c];
        move[c] = g / (w[c] * spread[c] + 0.5f * beta);
        slope += g * move[c];
      }
      if (slope < 1e-9f) break;
      u[0] += move[0];
      u[1] += move[1];
    }
    EACH_LABEL {
      float g[2];
      for (int c = 0; c < 2; c++) {
        float e = odds[l][c] * item[c];
        g[c] = w[c] * ((who[l] & 1 ? 1.f : 0.f) - __fdividef(e, 1 + e));
      }
      atomicAdd(sums + (who[l] >> 1), (sum_t)(__float2ll_rn(g[0] * scale) + (__float2ll_rn(g[1] * scale) << 32)));
    }
    state[i] = make_float2(u[0], u[1]);
    total += value;
  }
  atomicAdd(objective, total);
}
