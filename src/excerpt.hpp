#pragma once

#include <string>
#include <string_view>

namespace weir::detail {

/// Bytes from outside as an error's fact shows them, on one line: text as it is, control characters and what is no UTF-8 as
/// `\xNN`, and no more than the first 64 bytes, with the size behind them where that is not all.
std::string excerpt(std::string_view bytes);

} // namespace weir::detail
