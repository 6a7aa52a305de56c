// SPDX-License-Identifier: MIT
import { Component, type ComponentType, type FunctionComponent } from 'preact';

function same(before: object, after: object): boolean {
  const names = Object.keys(after) as (keyof typeof after)[];
  return names.length === Object.keys(before).length && names.every((name) => before[name] === after[name]);
}

/** A view that is painted again only when one of its properties, or a signal it reads, is another. */
export function memo<Props extends object>(View: FunctionComponent<Props>): ComponentType<Props> {
  return class extends Component<Props> {
    override shouldComponentUpdate(next: Props): boolean {
      return !same(this.props, next);
    }
    override render() {
      return <View {...(this.props as Props)} />;
    }
  };
}
