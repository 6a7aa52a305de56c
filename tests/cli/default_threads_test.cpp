// SPDX-License-Identifier: MIT
#include "cli/default_threads.h"

#include <doctest/doctest.h>

#include "io/temporary_folder.h"

namespace lanner::cli {

TEST_CASE("a control group's quota counts in whole CPUs, at least one") {
  const io::TemporaryFolder folder;
  CHECK_FALSE(control_group_cpus(folder.path()).has_value());
  folder.write("cpu.max", "max 100000\n");
  CHECK_FALSE(control_group_cpus(folder.path()).has_value());
  folder.write("cpu.max", "200000 100000\n");
  CHECK(control_group_cpus(folder.path()) == 2);
  folder.write("cpu.max", "765000 100000\n");
  CHECK(control_group_cpus(folder.path()) == 7);
  folder.write("cpu.max", "50000 100000\n");
  CHECK(control_group_cpus(folder.path()) == 1);
  folder.write("cpu.max", "nonsense\n");
  CHECK_FALSE(control_group_cpus(folder.path()).has_value());
}

TEST_CASE("version 1 control groups count too") {
  const io::TemporaryFolder folder;
  folder.write("cpu/cpu.cfs_quota_us", "-1\n");
  folder.write("cpu/cpu.cfs_period_us", "100000\n");
  CHECK_FALSE(control_group_cpus(folder.path()).has_value());
  folder.write("cpu/cpu.cfs_quota_us", "350000\n");
  CHECK(control_group_cpus(folder.path()) == 3);
}

TEST_CASE("there is always a thread") { CHECK(default_threads() >= 1); }

}  // namespace lanner::cli
