// SPDX-License-Identifier: MIT
import { describe, expect, it } from 'vitest';
import {
  addNode, alternatives, emptyTree, pathTo, removeNode, show, shownPath, treeProblem, updateNode, type MessageNode, type MessageTree,
} from '../../src/chat/tree';

function message(id: string, parent: string | null, role: MessageNode['role'] = 'user'): MessageNode {
  return { id, parent, role, content: id, created: 0 };
}
const ids = (nodes: MessageNode[]) => nodes.map((node) => node.id).join(' ');

/** u1 - a1 - u2 - a2, an alternative b1 of a1 with v2 below it, and an alternative w1 of u1. */
function grown(): MessageTree {
  return [
    message('u1', null), message('a1', 'u1', 'assistant'), message('u2', 'a1'), message('a2', 'u2', 'assistant'),
    message('b1', 'u1', 'assistant'), message('v2', 'b1'), message('w1', null),
  ].reduce(addNode, emptyTree());
}

describe('the tree of messages', () => {
  it('shows the newest branch', () => {
    expect(ids(shownPath(grown()))).toBe('w1');
  });

  it('remembers the branches below when one above is shown again', () => {
    let tree = show(grown(), 'u1');
    expect(ids(shownPath(tree))).toBe('u1 b1 v2');
    tree = show(tree, 'a1');
    expect(ids(shownPath(tree))).toBe('u1 a1 u2 a2');
  });

  it('counts alternatives among siblings, at the start too', () => {
    expect(alternatives(grown(), 'b1')).toEqual({ ids: ['a1', 'b1'], index: 1 });
    expect(alternatives(grown(), 'w1')).toEqual({ ids: ['u1', 'w1'], index: 1 });
  });

  it('gives the path to a message that is not shown', () => {
    expect(ids(pathTo(grown(), 'a2'))).toBe('u1 a1 u2 a2');
    expect(pathTo(grown(), null)).toEqual([]);
  });

  it('removes a message with all that follows and shows its neighbour', () => {
    const tree = removeNode(show(grown(), 'u1'), 'b1');
    expect(ids(shownPath(tree))).toBe('u1 a1 u2 a2');
    expect(tree.nodes['v2']).toBeUndefined();
    expect(treeProblem(tree)).toBeUndefined();
  });

  it('is empty after its last message is removed', () => {
    expect(removeNode(addNode(emptyTree(), message('x', null)), 'x')).toEqual(emptyTree());
  });

  it('never changes the tree it was given', () => {
    const tree = grown();
    const before = structuredClone(tree);
    removeNode(tree, 'u1');
    updateNode(tree, 'u1', { content: 'changed' });
    show(tree, 'a1');
    addNode(tree, message('z', 'a2'));
    expect(tree).toEqual(before);
  });

  it('finds what is wrong with a tree from a file', () => {
    expect(treeProblem(grown())).toBeUndefined();
    const broken = (change: (tree: MessageTree) => void) => {
      const tree = structuredClone(grown());
      change(tree);
      return treeProblem(tree);
    };
    expect(broken((tree) => delete tree.nodes['a1'])).toContain('unknown');
    expect(broken((tree) => (tree.nodes['a1']!.parent = 'w1'))).toContain('two parents');
    expect(broken((tree) => (tree.shown['u1'] = 'u2'))).toContain('not');
    expect(broken((tree) => delete tree.children['u1'])).toBeDefined();
    // A circle that hangs on nothing would make a walk to the root endless.
    expect(
      broken((tree) => {
        tree.nodes['p'] = message('p', 'q');
        tree.nodes['q'] = message('q', 'p');
        tree.children['p'] = ['q'];
        tree.children['q'] = ['p'];
      }),
    ).toContain('no branch');
  });
});
