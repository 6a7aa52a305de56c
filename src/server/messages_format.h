// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "server/answer_format.h"

namespace lanner::server {

/// Writes answers of Anthropic's Messages API.
std::unique_ptr<AnswerFormat> make_messages_format();

}  // namespace lanner::server
