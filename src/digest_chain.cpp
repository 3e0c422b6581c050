#include <weir/digest_chain.hpp>

#include "hex_text.hpp"
#include "little_endian.hpp"

#include <bit>
#include <cstddef>

namespace weir {

namespace {

using detail::load_little;
using detail::store_little;

/// SipHash's four words while a message goes through them, eight bytes at a time. `rest` comes last and takes the tail.
class sip_state {
public:
  explicit sip_state(const chain_digest& key) noexcept {
    const auto low = load_little<std::uint64_t>(key.bytes.data());
    const auto high = load_little<std::uint64_t>(key.bytes.data() + 8);
    a_ = low ^ 0x736F6D6570736575U;          // "somepseudorandomlygeneratedbytes"
    b_ = high ^ 0x646F72616E646F6DU ^ 0xEEU; // 128 bits come out
    c_ = low ^ 0x6C7967656E657261U;
    d_ = high ^ 0x7465646279746573U;
  }

  void word(std::uint64_t word) noexcept {
    size_ += 8;
    mix_in(word);
  }

  chain_digest rest(std::string_view bytes) noexcept {
    const auto* at = bytes.data();
    auto left = bytes.size();
    size_ += left;
    for (; left >= 8; left -= 8, at += 8)
      mix_in(load_little<std::uint64_t>(at));
    auto last = static_cast<std::uint64_t>(size_) << 56U;
    for (std::size_t index = 0; index < left; ++index)
      last |= static_cast<std::uint64_t>(static_cast<unsigned char>(at[index])) << 8U * index;
    mix_in(last);
    chain_digest digest;
    c_ ^= 0xEEU;
    store_little(digest.bytes.data(), end());
    b_ ^= 0xDDU;
    store_little(digest.bytes.data() + 8, end());
    return digest;
  }

private:
  void mix_in(std::uint64_t word) noexcept {
    d_ ^= word;
    round();
    round();
    a_ ^= word;
  }

  std::uint64_t end() noexcept {
    for (int count = 0; count < 4; ++count)
      round();
    return a_ ^ b_ ^ c_ ^ d_;
  }

  void round() noexcept {
    a_ += b_;
    c_ += d_;
    b_ = std::rotl(b_, 13) ^ a_;
    d_ = std::rotl(d_, 16) ^ c_;
    a_ = std::rotl(a_, 32);
    c_ += b_;
    a_ += d_;
    b_ = std::rotl(b_, 17) ^ c_;
    d_ = std::rotl(d_, 21) ^ a_;
    c_ = std::rotl(c_, 32);
  }

  std::uint64_t a_, b_, c_, d_;
  std::size_t size_ = 0;
};

} // namespace

std::string to_string(const chain_digest& digest) {
  std::string text;
  for (const auto byte : digest.bytes)
    detail::append_hex(text, byte, 2);
  return text;
}

chain_digest siphash(const chain_digest& key, std::string_view message) noexcept {
  return sip_state{key}.rest(message);
}

chain_digest chain_begin(std::uint64_t store, std::string_view topic, std::uint64_t epoch, std::uint32_t shard) noexcept {
  constexpr chain_digest key{{'w', 'e', 'i', 'r', '.', 'l', 'o', 'g', '.', 'c', 'h', 'a', 'i', 'n', '.', '1'}};
  sip_state state{key};
  state.word(store);
  state.word(epoch);
  state.word(shard);
  return state.rest(topic);
}

chain_digest chain_next(const chain_digest& before, std::int64_t offset, std::int64_t time, std::string_view record) noexcept {
  sip_state state{before};
  state.word(static_cast<std::uint64_t>(offset));
  state.word(static_cast<std::uint64_t>(time));
  return state.rest(record);
}

} // namespace weir
