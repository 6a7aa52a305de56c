/* SPDX-License-Identifier: MIT */
/* Goes on with a text: story FOLDER TEXT. Stops after the first full stop. */
#include <lanner/lanner.h>
#include <stdio.h>
#include <string.h>

static int print(const lanner_token* token, void* user) {
  int* sentences = user;
  fwrite(token->text, 1, token->text_size, stdout);
  fflush(stdout);
  if (memchr(token->text, '.', token->text_size) != NULL) ++*sentences;
  return *sentences > 0; /* not 0 cancels */
}

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: story FOLDER TEXT\n");
    return 2;
  }
  lanner_model* model = lanner_load(argv[1], NULL);
  if (model == NULL) {
    fprintf(stderr, "story: %s\n", lanner_last_error());
    return 1;
  }
  lanner_generate_options options = lanner_generate_defaults();
  options.max_tokens = 100;
  options.seed = 7;
  int sentences = 0;
  lanner_answer* answer = lanner_complete(model, argv[2], &options);
  const int failed = answer == NULL || lanner_read(answer, print, &sentences) != LANNER_OK;
  printf("\n");
  if (failed) fprintf(stderr, "story: %s\n", lanner_last_error());
  lanner_answer_free(answer);
  lanner_free(model);
  return failed;
}
