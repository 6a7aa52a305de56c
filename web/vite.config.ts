// SPDX-License-Identifier: MIT
import { defineConfig } from 'vitest/config';

export default defineConfig({
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  base: './', // also works behind a proxy's path
  build: {
    license: { fileName: 'licenses.md' }, // of the libraries in page.js
    target: 'es2022',
    modulePreload: false,
    // Names without hashes: the program embeds these files, and answers with an ETag.
    rollupOptions: {
      output: {
        entryFileNames: 'page.js',
        assetFileNames: (asset) => (asset.names.some((name) => name.endsWith('.css')) ? 'page.css' : '[name][extname]'),
        codeSplitting: false,
      },
    },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
  server: { proxy: { '/v1': 'http://127.0.0.1:8080', '/health': 'http://127.0.0.1:8080', '/version': 'http://127.0.0.1:8080' } },
  test: {
    projects: [
      { extends: true, test: { name: 'unit', include: ['tests/unit/**/*.test.ts'], environment: 'node' } },
      {
        extends: true,
        test: {
          name: 'page',
          include: ['tests/page/**/*.test.ts'],
          environment: 'node',
          fileParallelism: false,
          testTimeout: 90_000,
          hookTimeout: 60_000,
          expect: { poll: { timeout: 20_000 } },
        },
      },
    ],
  },
});
