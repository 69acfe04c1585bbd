//! The shortest slice of a queue as Linux (6.13 to 6.18, at least) sees it: by a tree that forgets.
//!
//! The kernel's runqueue is a red-black tree. Each node notes the least virtual time and the shortest slice below it, so
//! that the root knows both of the whole queue. But where a rotation, or an erasure, puts one node into the place of
//! another, only the virtual time is handed over: the template of the callbacks (`RB_DECLARE_CALLBACKS`) copies one field. The
//! new root then goes on with the shortest slice of what was below it before, until a change below makes it look again. A
//! slice on the other side is forgotten, and the running task is protected for a longer one.
//!
//! How long a task with a short slice waits among long ones depends on it, so the tree is kept here as the kernel keeps it: the
//! same rotations in the same cases (lib/rbtree.c), and the same moments at which a node looks at its children. It is kept
//! only where tasks ask for slices; among equal ones there is nothing to forget.

use crate::schedulers::kit::timeline::EntityId;
use schedlab_model::Nanos;

/// No node.
const NIL: u32 = EntityId::MAX;
/// Sides.
const LEFT: usize = 0;
const RIGHT: usize = 1;

#[derive(Debug, Clone, Copy)]
struct Node {
    parent: u32,
    child: [u32; 2],
    red: bool,
    /// The deadline, by which they are sorted.
    key: i64,
    vruntime: i64,
    slice: Nanos,
    /// Of it and all below: the least virtual time, which is right, and the shortest slice, which may be out of date.
    least: i64,
    shortest: Nanos,
}

const NONE: Node = Node {
    parent: NIL,
    child: [NIL; 2],
    red: false,
    key: 0,
    vruntime: 0,
    slice: Nanos::MAX,
    least: i64::MAX,
    shortest: Nanos::MAX,
};

/// The tree of a queue. The node of an entity has its number.
#[derive(Debug)]
pub struct SliceTree {
    nodes: Vec<Node>,
    root: u32,
}

impl Default for SliceTree {
    fn default() -> Self {
        SliceTree { nodes: Vec::new(), root: NIL }
    }
}

impl SliceTree {
    /// The shortest slice, as the root has it; none of an empty tree.
    pub fn shortest(&self) -> Option<Nanos> {
        (self.root != NIL).then(|| self.at(self.root).shortest)
    }

    /// Puts in an entity, behind those of the same key.
    pub fn insert(&mut self, id: EntityId, key: i64, vruntime: i64, slice: Nanos) {
        if self.nodes.len() <= id as usize {
            self.nodes.resize(id as usize + 1, NONE);
        }
        let (mut parent, mut side, mut at) = (NIL, LEFT, self.root);
        while at != NIL {
            (parent, side) = (at, usize::from(key >= self.at(at).key));
            at = self.at(at).child[side];
        }
        let own = Node { parent, red: true, key, vruntime, slice, least: vruntime, shortest: slice, ..NONE };
        *self.node(id) = own;
        match parent {
            NIL => self.root = id,
            _ => self.node(parent).child[side] = id,
        }
        self.propagate(parent, NIL);
        self.settle_red(id);
    }

    /// Takes out an entity.
    pub fn remove(&mut self, id: EntityId) {
        let Node { parent, child: [left, right], red, .. } = *self.at(id);
        let (start, lacks_black) = match (left, right) {
            (NIL, NIL) => {
                self.put_in_place(id, NIL);
                (parent, if red { NIL } else { parent })
            }
            (only, NIL) | (NIL, only) => {
                self.put_in_place(id, only);
                self.node(only).red = red;
                (parent, NIL)
            }
            _ => self.replace_by_next(id),
        };
        self.propagate(start, NIL);
        if lacks_black != NIL {
            self.settle_black(lacks_black);
        }
    }

    /// An entity in the tree requests another slice.
    pub fn change(&mut self, id: EntityId, slice: Nanos) {
        self.node(id).slice = slice;
        self.propagate(id, NIL);
    }

    fn at(&self, id: u32) -> &Node {
        &self.nodes[id as usize]
    }

    fn node(&mut self, id: u32) -> &mut Node {
        &mut self.nodes[id as usize]
    }

    fn is_red(&self, id: u32) -> bool {
        id != NIL && self.at(id).red
    }

    /// The side of a child.
    fn side(&self, parent: u32, child: u32) -> usize {
        usize::from(self.at(parent).child[RIGHT] == child)
    }

    /// A node looks at its children; whether that changed nothing. (min_vruntime_update)
    fn look(&mut self, id: u32) -> bool {
        let own = *self.at(id);
        let (mut least, mut shortest) = (own.vruntime, own.slice);
        for child in own.child.into_iter().filter(|&child| child != NIL) {
            least = least.min(self.at(child).least);
            shortest = shortest.min(self.at(child).shortest);
        }
        (self.node(id).least, self.node(id).shortest) = (least, shortest);
        (least, shortest) == (own.least, own.shortest)
    }

    /// Nodes look at their children from here up, until one finds nothing new.
    fn propagate(&mut self, mut id: u32, stop: u32) {
        while id != stop && !self.look(id) {
            id = self.at(id).parent;
        }
    }

    /// A child of a node's parent, or none, takes the node's place.
    fn put_in_place(&mut self, of: u32, id: u32) {
        let parent = self.at(of).parent;
        match parent {
            NIL => self.root = id,
            _ => {
                let side = self.side(parent, of);
                self.node(parent).child[side] = id;
            }
        }
        if id != NIL {
            self.node(id).parent = parent;
        }
    }

    /// The child on the far side takes the place of a node, which becomes its child on this side. What is handed over is the
    /// virtual time alone.
    fn rotate(&mut self, old: u32, side: usize) {
        let new = self.at(old).child[1 - side];
        let between = self.at(new).child[side];
        self.put_in_place(old, new);
        self.node(old).child[1 - side] = between;
        if between != NIL {
            self.node(between).parent = old;
        }
        self.node(new).child[side] = old;
        self.node(old).parent = new;
        self.node(new).least = self.at(old).least;
        self.look(old);
    }

    /// A new red node must have no red parent. (__rb_insert)
    fn settle_red(&mut self, mut id: u32) {
        loop {
            let mut parent = self.at(id).parent;
            if parent == NIL {
                self.node(id).red = false;
                return;
            }
            if !self.at(parent).red {
                return;
            }
            let grandparent = self.at(parent).parent; // a root is black
            let side = self.side(grandparent, parent);
            let uncle = self.at(grandparent).child[1 - side];
            if self.is_red(uncle) {
                self.node(uncle).red = false;
                self.node(parent).red = false;
                self.node(grandparent).red = true;
                id = grandparent;
                continue;
            }
            if self.at(parent).child[1 - side] == id {
                self.rotate(parent, side);
                parent = id;
            }
            self.rotate(grandparent, 1 - side);
            self.node(parent).red = false;
            self.node(grandparent).red = true;
            return;
        }
    }

    /// The next in order takes the place of a node with two children. Returns where to continue, and below which node a
    /// black node is missing. (__rb_erase_augmented)
    fn replace_by_next(&mut self, id: u32) -> (u32, u32) {
        let Node { child: [left, right], red, least, .. } = *self.at(id);
        let mut next = right;
        while self.at(next).child[LEFT] != NIL {
            next = self.at(next).child[LEFT];
        }
        let Node { parent, child: [_, orphan], red: was_red, .. } = *self.at(next);
        self.node(next).least = least;
        let above = if next == right { next } else { parent };
        if next != right {
            self.node(parent).child[LEFT] = orphan;
            self.node(next).child[RIGHT] = right;
            self.node(right).parent = next;
            self.propagate(parent, next);
        }
        self.node(next).child[LEFT] = left;
        self.node(left).parent = next;
        self.put_in_place(id, next);
        self.node(next).red = red;
        if orphan != NIL {
            self.node(orphan).parent = above;
            self.node(orphan).red = false;
        }
        (next, if orphan == NIL && !was_red { above } else { NIL })
    }

    /// Below a node, on the side where `id` is or no node is, a black node is missing. (____rb_erase_color)
    fn settle_black(&mut self, mut parent: u32) {
        let mut id = NIL;
        loop {
            let side = usize::from(self.at(parent).child[RIGHT] == id);
            let mut sibling = self.at(parent).child[1 - side];
            if self.at(sibling).red {
                self.rotate(parent, side);
                self.node(sibling).red = false;
                self.node(parent).red = true;
                sibling = self.at(parent).child[1 - side];
            }
            let [near, far] = [self.at(sibling).child[side], self.at(sibling).child[1 - side]];
            if !self.is_red(far) && !self.is_red(near) {
                self.node(sibling).red = true;
                if self.at(parent).red {
                    self.node(parent).red = false;
                    return;
                }
                (id, parent) = (parent, self.at(parent).parent);
                if parent == NIL {
                    return;
                }
                continue;
            }
            if !self.is_red(far) {
                self.rotate(sibling, 1 - side);
                sibling = near;
            }
            let far = self.at(sibling).child[1 - side];
            let red = self.at(parent).red;
            self.rotate(parent, side);
            self.node(sibling).red = red;
            self.node(parent).red = false;
            self.node(far).red = false;
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys in order, with a check of every node: colours, and the least virtual time below. Gives its black height.
    fn check(tree: &SliceTree, id: u32, keys: &mut Vec<(i64, u32)>) -> (u32, i64) {
        if id == NIL {
            return (0, i64::MAX);
        }
        let node = tree.at(id);
        assert!(!(node.red && node.child.iter().any(|&child| tree.is_red(child))), "a red node has a red child");
        let (left, least_left) = check(tree, node.child[LEFT], keys);
        keys.push((node.key, id));
        let (right, least_right) = check(tree, node.child[RIGHT], keys);
        assert_eq!(left, right, "black nodes on all ways");
        let least = node.vruntime.min(least_left).min(least_right);
        assert_eq!(node.least, least);
        (left + u32::from(!node.red), least)
    }

    #[test]
    fn it_is_a_red_black_tree_that_knows_the_least_virtual_time() {
        let (mut tree, mut there, mut state) = (SliceTree::default(), Vec::<(i64, u32)>::new(), 1u64);
        for step in 0..4000u32 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let random = (state >> 33) as i64;
            if there.is_empty() || random % 100 < 52 && there.len() < 60 {
                let id = (0..).find(|id| there.iter().all(|&(_, other)| other != *id)).unwrap();
                tree.insert(id, random % 50, random % 1000, u64::from(step % 7));
                let at = there.partition_point(|&(key, _)| key <= random % 50);
                there.insert(at, (random % 50, id));
            } else {
                let (_, id) = there.remove(random as usize % there.len());
                tree.remove(id);
            }
            let mut keys = Vec::new();
            check(&tree, tree.root, &mut keys);
            assert_eq!(keys, there);
        }
    }

    #[test]
    fn a_rotation_forgets_the_slice_of_who_was_on_top() {
        let mut tree = SliceTree::default();
        tree.insert(0, 10, 0, 3);
        tree.insert(1, 20, 0, 40);
        assert_eq!(tree.shortest(), Some(3));
        tree.insert(2, 30, 0, 40); // 1 becomes the root, and has looked at 2 alone
        assert_eq!(tree.shortest(), Some(40));
        tree.remove(2); // it looks again
        assert_eq!(tree.shortest(), Some(3));
    }

    #[test]
    fn among_equal_slices_nothing_is_forgotten() {
        let mut tree = SliceTree::default();
        (0..40).for_each(|id| tree.insert(id, i64::from(id * 17 % 40), 0, 5));
        for id in 0..39 {
            assert_eq!(tree.shortest(), Some(5));
            tree.remove(id);
        }
    }
}
